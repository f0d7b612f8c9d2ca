var e=null;try{e=localStorage.getItem("torpor.theme")}catch{}var t=e==="dark"||e!=="light"&&matchMedia("(prefers-color-scheme: dark)").matches;document.documentElement.dataset.theme=t?"dark":"light";
