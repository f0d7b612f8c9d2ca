/**
 * Makes characters visible that could hide or reorder text. All text from the server passes through here.
 *
 * Pure. Control characters, bidi controls, invisible characters and lone surrogates become a mark; line feeds and tabs
 * stay, and so do the joiners that scripts and emoji need.
 */

export interface TextPart { text: string; hidden: boolean }

// C0 but tab and line feed, DEL, C1, soft hyphen, bidi controls, zero-width space and no-break space, word joiner and
// invisible operators, tags, interlinear annotations, lone surrogates.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu;
const MAYBE_HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]/;

function mark(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Splits a text into parts as they stand and marks for what is hidden. */
export function parts(text: string): TextPart[] {
  if (!MAYBE_HIDDEN.test(text)) return text === "" ? [] : [{ text, hidden: false }];
  const found: TextPart[] = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > from) found.push({ text: text.slice(from, match.index), hidden: false });
    found.push({ text: mark(match[0]), hidden: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ text: text.slice(from), hidden: false });
  return found;
}

/** Returns a text for attributes and canvas, where marks cannot have a style: one string. */
export function plain(text: string): string {
  return MAYBE_HIDDEN.test(text) ? text.replace(HIDDEN, mark) : text;
}

/** Cuts a text to a number of characters, never within a surrogate pair. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const end = /[\ud800-\udbff]/.test(text.charAt(limit - 1)) ? limit - 1 : limit;
  return `${text.slice(0, end)}…`;
}
