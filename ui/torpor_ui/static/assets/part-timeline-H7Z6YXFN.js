import{a as o}from"./part-chunk-DX3P3VDK.js";import{p as t,x as r}from"./part-chunk-WQQQKRPT.js";function i(e){return t(r,{title:o.tabs.timeline})}export{i as default};
