import{k as t,l as e,t as o}from"./part-chunk-JDKMEHND.js";function r(){return e(o,{title:t.views.schedules})}export{r as default};
