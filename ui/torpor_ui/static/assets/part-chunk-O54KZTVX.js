import{n as e}from"./part-chunk-22C3DZMY.js";var a=matchMedia("(max-width: 720px)"),t=e(a.matches);a.addEventListener("change",()=>t.value=a.matches);export{t as a};
