/** Buttons, fields, panels and messages that all views share. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Problem } from "../contract.ts";
import { plain } from "../core/characters.ts";
import { t } from "../texts.en.ts";
import { Data } from "./data.tsx";
import { Icon, type IconName } from "./icons.tsx";

export interface ButtonProps {
  label: string;
  icon?: IconName;
  /** Why the button cannot be used. It stays in the tab order, so that the reason can be read. */
  disabled?: string | false | undefined;
  kind?: "plain" | "primary" | "danger" | "quiet";
  iconOnly?: boolean;
  pressed?: boolean | undefined;
  expanded?: boolean | undefined;
  title?: string;
  onClick?: (event: MouseEvent) => void;
}

export function Button({ label, icon, disabled, kind = "plain", iconOnly = false, pressed, expanded, title, onClick }: ButtonProps) {
  return (
    <button type="button" class={`button ${kind}${iconOnly ? " icon-only" : ""}`} aria-disabled={disabled ? true : undefined} aria-pressed={pressed} aria-expanded={expanded}
      aria-label={iconOnly ? label : undefined} title={disabled ? `${label}: ${plain(disabled)}` : title ?? (iconOnly ? label : undefined)}
      onClick={(event) => (disabled ? event.preventDefault() : onClick?.(event))}>
      {icon ? <Icon name={icon} size={14} /> : null}{iconOnly ? null : <span>{label}</span>}
    </button>
  );
}

/** A command that does the same, with a button that copies it. */
export function CommandLine({ command }: { command: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(command);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <div class="command"><code class="grow" tabIndex={0}><Data text={command} limit={2000} /></code>
      <Button kind="quiet" icon={copied ? "check" : "copy"} iconOnly label={copied ? t.copied : t.copyCommand} onClick={() => void copy()} />
    </div>
  );
}

/** Copies a text; without the clipboard API (plain HTTP) through a selection. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text).catch(() => undefined);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

export function ProblemBox({ problem, onRetry }: { problem: Problem; onRetry?: (() => void) | undefined }) {
  return (
    <div class="problem" role="alert">
      <Icon name="warn" />
      <div class="stack grow">
        <div class="strong wrap"><Data text={problem.message || t.unknownProblem} limit={2000} /></div>
        {problem.remedy ? <div class="soft wrap"><Data text={problem.remedy} limit={2000} /></div> : null}
      </div>
      {onRetry ? <Button label={t.tryAgain} icon="refresh" onClick={onRetry} /> : null}
    </div>
  );
}

/** What a list shows when it has nothing: what to do. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return <div class="empty"><h2>{title}</h2><div class="stack soft">{children}</div></div>;
}

export function Loading({ label = t.loading }: { label?: string }) {
  return <div class="loading" role="status"><span class="spinner" aria-hidden="true" />{label}</div>;
}

export function Panel({ title, actions, children, flush = false }: { title?: ComponentChildren; actions?: ComponentChildren; children: ComponentChildren; flush?: boolean }) {
  return (
    <section class={`panel${flush ? " flush" : ""}`}>
      {title || actions ? <header class="panel-head row"><h2 class="grow">{title}</h2>{actions}</header> : null}
      <div class="panel-body">{children}</div>
    </section>
  );
}

/** A number that people look at first, with what it counts. */
export function Figure({ value, label, tone, title }: { value: string; label: string; tone?: string; title?: string }) {
  return <div class={`figure${tone ? ` tone-${tone}` : ""}`} title={title}><span class="figure-value">{value}</span><span class="figure-label">{label}</span></div>;
}

export interface Option { value: string; label: string; disabled?: boolean }

export function Select({ label, value, options, onChange, hideLabel = true }: { label: string; value: string; options: Option[]; onChange: (value: string) => void; hideLabel?: boolean }) {
  return (
    <label class="field"><span class={hideLabel ? "sr" : "field-label"}>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)} title={label}>
        {options.map((option) => <option key={option.value} value={option.value} disabled={option.disabled}>{plain(option.label)}</option>)}
      </select>
    </label>
  );
}

export interface InputProps { label: string; value: string; placeholder?: string; icon?: IconName; onInput: (value: string) => void; hideLabel?: boolean; type?: "text" | "password" | "number" | "date" | "datetime-local" | "search"; invalid?: string; id?: string; wide?: boolean }

export function TextInput({ label, value, placeholder, icon, onInput, hideLabel = true, type = "text", invalid, id, wide = false }: InputProps) {
  return (
    <label class={`field${wide ? " grow" : ""}`}><span class={hideLabel ? "sr" : "field-label"}>{label}</span>
      <span class="input">{icon ? <Icon name={icon} size={14} /> : null}
        <input id={id} type={type as "text"} value={value} placeholder={placeholder} spellcheck={false} autocomplete="off" aria-invalid={invalid ? true : undefined} onInput={(event) => onInput(event.currentTarget.value)} />
      </span>
      {invalid ? <span class="field-error" role="alert">{invalid}</span> : null}
    </label>
  );
}

export interface Tab { id: string; label: string; href: string; count?: string }

/** Views of one thing as links, so that each has a URL. */
export function Tabs({ label, tabs, active }: { label: string; tabs: Tab[]; active: string }) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map((tab) => <a key={tab.id} href={tab.href} class="tab" aria-current={tab.id === active ? "page" : undefined}>{tab.label}{tab.count ? <span class="tab-count">{tab.count}</span> : null}</a>)}
    </nav>
  );
}

/** Pairs of a name and a value. */
export function Facts({ facts }: { facts: [string, ComponentChildren][] }) {
  return <dl class="facts">{facts.map(([name, value]) => <div class="fact" key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>;
}
