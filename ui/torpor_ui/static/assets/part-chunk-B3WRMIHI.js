function e(t){try{return localStorage.getItem(t)}catch{return null}}function l(t,r){try{r===null?localStorage.removeItem(t):localStorage.setItem(t,r)}catch{}}export{e as a,l as b};
