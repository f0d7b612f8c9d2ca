/** Starts the page. */
import { render } from "preact";
import { startClock } from "./core/clock.ts";
import { startHotkeys } from "./core/hotkeys.ts";
import { location, startRouter } from "./core/router.ts";
import { startTheme } from "./core/theme.ts";
import { Shell } from "./shell/shell.tsx";
import { findRoute } from "./views/routes.ts";
import "./styles/all.css";

startTheme();
startRouter();
void findRoute(location.value.path)?.load().catch(() => undefined); // while the session is asked for; a failure shows with the view
startHotkeys();
startClock();
render(<Shell />, document.getElementById("page") as HTMLElement);
