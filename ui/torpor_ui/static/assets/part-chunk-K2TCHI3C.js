import{n as e}from"./part-chunk-FCKP64K6.js";var a=matchMedia("(max-width: 720px)"),t=e(a.matches);a.addEventListener("change",()=>t.value=a.matches);export{t as a};
