import{k as o,l as t,t as i}from"./part-chunk-JDKMEHND.js";function r(){return t(i,{title:o.views.inbox})}export{r as default};
