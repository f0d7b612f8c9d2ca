import{n as e}from"./part-chunk-NBDF43G4.js";var a=matchMedia("(max-width: 720px)"),t=e(a.matches);a.addEventListener("change",()=>t.value=a.matches);export{t as a};
