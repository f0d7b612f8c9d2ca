import{a as o}from"./part-chunk-UHFCGH2L.js";import{l as t,t as r}from"./part-chunk-JDKMEHND.js";function i(e){return t(r,{title:o.tabs.timeline})}export{i as default};
