import{a as o}from"./part-chunk-UHFCGH2L.js";import{l as r,t}from"./part-chunk-JDKMEHND.js";function p(i){return r(t,{title:o.tabs.grid})}export{p as default};
