/** Starts the page. */
import { render } from "preact";
import { startClock } from "./core/clock.ts";
import { startHotkeys } from "./core/hotkeys.ts";
import { startRouter } from "./core/router.ts";
import { startTheme } from "./core/theme.ts";
import { Shell } from "./shell/shell.tsx";
import "./styles/all.css";

startTheme();
startRouter();
startHotkeys();
startClock();
render(<Shell />, document.getElementById("page") as HTMLElement);
