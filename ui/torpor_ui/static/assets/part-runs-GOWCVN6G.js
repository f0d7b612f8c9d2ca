import{n as t,p as o,x as r}from"./part-chunk-WQQQKRPT.js";function f(){return o(r,{title:t.views.runs})}export{f as default};
