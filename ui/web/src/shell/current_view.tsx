/** Loads the view of the location when it is first shown, and keeps a broken view from breaking the page. */
import { Component, type ComponentChildren, type ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Button, Empty, Loading } from "../components/basics.tsx";
import { Data } from "../components/data.tsx";
import { href, location, path } from "../core/router.ts";
import { t } from "../texts.en.ts";
import { findRoute, type Route } from "../views/routes.ts";

const loaded = new Map<Route, ComponentType>();

export function CurrentView() {
  const route = findRoute(location.value.path);
  const [, redraw] = useState(0);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    document.title = route ? `${route.title(location.value.path)} · ${t.brand}` : t.brand;
    if (!route || loaded.has(route)) return;
    route.load().then((module) => {
      loaded.set(route, module.default);
      redraw((count) => count + 1);
    }, () => setFailed(true));
  }, [route, path.value]);
  if (!route) return <Empty title={t.notFound}><p>{t.notFoundHelp}</p><a href={href("runs")}>{t.toRuns}</a></Empty>;
  if (failed) return <Empty title={t.updated}><Button kind="primary" label={t.reload} onClick={() => window.location.reload()} /></Empty>;
  const View = loaded.get(route);
  return View ? <Boundary key={route.id}><View /></Boundary> : <Loading />;
}

class Boundary extends Component<{ children: ComponentChildren }, { error: unknown }> {
  override state = { error: null as unknown };

  override componentDidCatch(error: unknown): void {
    console.error(error);
    this.setState({ error });
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    const message = this.state.error instanceof Error ? this.state.error.message : String(this.state.error);
    return <Empty title={t.viewFailed}><p class="mono"><Data text={message} limit={400} /></p><Button label={t.reload} onClick={() => window.location.reload()} /></Empty>;
  }
}
