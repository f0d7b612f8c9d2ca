/** Computes the contrast of the colour tokens: WCAG 2.2 AA asks 4.5 of text and 3 of marks and outlines. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const css = readFileSync(new URL("../src/styles/tokens.css", import.meta.url), "utf8");
const TONES = ["ok", "run", "wait", "queue", "warn", "bad", "skip", "idle"];

function tokens(block: string): Map<string, string> {
  return new Map([...block.matchAll(/(--[a-z-]+):\s*(#[0-9a-f]{6})/g)].map((match) => [match[1] as string, match[2] as string]));
}

function luminance(color: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255).map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

const themes = css.split(":root[data-theme=\"dark\"]");
for (const [name, block] of [["light", themes[0]], ["dark", themes[1]]] as const) {
  const color = tokens(block ?? "");
  const check = (front: string, back: string, least: number): void => {
    const value = contrast(color.get(front) ?? "", color.get(back) ?? "");
    assert.ok(value >= least, `${name}: ${front} on ${back} has ${value.toFixed(2)}, below ${least}`);
  };
  test(`text is readable on each surface in ${name}`, () => {
    for (const back of ["--bg", "--surface", "--raised", "--sunken", "--hover", "--selected"]) {
      check("--text", back, 4.5);
      check("--text-soft", back, 4.5);
      check("--accent", back, 4.5);
    }
    check("--on-accent", "--accent", 4.5);
    check("--line-strong", "--surface", 3);
  });
  test(`each tone is readable and its marks are visible in ${name}`, () => {
    for (const tone of TONES) {
      for (const back of [`--tone-${tone}-soft`, "--surface", "--bg", "--hover", "--selected", "--raised"]) check(`--tone-${tone}-text`, back, 4.5);
      for (const back of ["--surface", "--bg"]) check(`--tone-${tone}`, back, 3);
    }
  });
}
