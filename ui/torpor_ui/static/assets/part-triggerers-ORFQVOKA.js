import{k as r,l as t,t as e}from"./part-chunk-JDKMEHND.js";function i(){return t(e,{title:r.views.triggerers})}export{i as default};
