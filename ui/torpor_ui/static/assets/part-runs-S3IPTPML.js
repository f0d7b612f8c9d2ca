import{k as t,l as o,t as r}from"./part-chunk-JDKMEHND.js";function f(){return o(r,{title:t.views.runs})}export{f as default};
