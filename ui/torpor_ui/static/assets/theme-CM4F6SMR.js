var e=localStorage.getItem("torpor.theme"),t=e==="dark"||e!=="light"&&matchMedia("(prefers-color-scheme: dark)").matches;document.documentElement.dataset.theme=t?"dark":"light";
