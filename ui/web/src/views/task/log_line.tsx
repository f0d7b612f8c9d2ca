/** One line of a log: its colours as the program set them, the searched text marked, hidden characters visible. */
import { spans, type Span } from "../../core/ansi.ts";
import { cut, parts } from "../../core/characters.ts";

export function LineText({ text, limit, marked }: { text: string; limit: number; marked: string }) {
  return <bdi>{spans(cut(text, limit)).map((span) => <Styled span={span} marked={marked} />)}</bdi>;
}

function Styled({ span, marked }: { span: Span; marked: string }) {
  const inside = parts(span.text).map((part) => (part.hidden ? <span class="hidden-char">{part.text}</span> : marked === "" ? part.text : <Marked text={part.text} marked={marked} />));
  return span.style === "" ? <>{inside}</> : <span class={span.style}>{inside}</span>;
}

function Marked({ text, marked }: { text: string; marked: string }) {
  const lower = text.toLowerCase();
  const found = [];
  let from = 0;
  for (let at = lower.indexOf(marked); at !== -1 && found.length < 200; at = lower.indexOf(marked, from)) {
    if (at > from) found.push(text.slice(from, at));
    found.push(<mark>{text.slice(at, at + marked.length)}</mark>);
    from = at + marked.length;
  }
  found.push(text.slice(from));
  return <>{found}</>;
}
