/** Counts and sizes as text. Pure. */

const GROUPED = new Intl.NumberFormat("en-GB");
const SCALED = new Intl.NumberFormat("en-GB", { notation: "compact", maximumFractionDigits: 1 });

/** "1,234" */
export function count(value: number): string {
  return GROUPED.format(value);
}

/** "950", "1.2k", "3.4m" where there is little room. */
export function scaled(value: number): string {
  return value < 10_000 ? GROUPED.format(value) : SCALED.format(value).toLowerCase();
}

/** "512 B", "1.5 KiB", "8.0 MiB" */
export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value.toFixed(1)} ${units[unit]}`;
}
