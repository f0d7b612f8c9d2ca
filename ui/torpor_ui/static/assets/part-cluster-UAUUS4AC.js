import{k as t,l as r,t as o}from"./part-chunk-JDKMEHND.js";function e(){return r(o,{title:t.views.cluster})}export{e as default};
