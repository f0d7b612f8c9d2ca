/** An answer of the server that is asked again every few seconds while the page is in sight. */
import { useCallback, useEffect, useState } from "preact/hooks";
import type { Problem } from "../contract.ts";
import { asProblem, getJson } from "./api.ts";

export interface Polled<T> { value: T | null; problem: Problem | null; again: () => void }

/** `path` null: nothing is asked. The last answer stays while a later one is awaited or fails. */
export function usePolled<T>(path: string | null, seconds = 10): Polled<T> {
  const [answer, setAnswer] = useState<{ path: string | null; value: T | null }>({ path: null, value: null });
  const [problem, setProblem] = useState<Problem | null>(null);
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    if (path === null) return undefined;
    const stop = new AbortController();
    let timer = 0;
    const ask = async () => {
      try {
        if (!document.hidden) {
          const value = await getJson<T>(path, stop.signal);
          setAnswer({ path, value });
          setProblem(null);
        }
      } catch (error) {
        if (!stop.signal.aborted) setProblem(asProblem(error));
      }
      if (!stop.signal.aborted) timer = window.setTimeout(() => void ask(), seconds * 1000);
    };
    const seen = () => {
      if (document.hidden) return;
      clearTimeout(timer);
      void ask();
    };
    void ask();
    document.addEventListener("visibilitychange", seen);
    return () => {
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [path, seconds, asked]);
  const again = useCallback(() => setAsked((count) => count + 1), []);
  return { value: answer.path === path ? answer.value : null, problem, again };
}
