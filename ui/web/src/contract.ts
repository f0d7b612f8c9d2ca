/**
 * What the server sends. Python decides on states, tones, phases and causes (torpor_views); the page only draws them.
 *
 * Times are seconds since the epoch. Paths are relative to the base path. docs/design/page.md describes each path.
 */

export type Tone = "ok" | "run" | "wait" | "queue" | "warn" | "bad" | "skip" | "idle";
export type Phase = "queued" | "starting" | "running" | "waiting" | "backing off" | "gap";
export type Time = number | null;

/** `field`: the field of a form that the problem is about. */
export interface Problem { status: number; reason: string; message: string; remedy: string; field?: string }

export interface Session {
  user: string;
  mode: "local" | "proxy" | "oidc" | "token";
  login: boolean;
  readOnly: boolean;
  version: string;
  archive?: boolean;
  csrf: string;
  namespaces: string[];
  defaultNamespaces: string[];
  command: string;
}

export type ActName =
  | "retry" | "clear" | "cancel" | "stop" | "suspend" | "resume" | "approve" | "reject" | "mark" | "submit" | "resubmit"
  | "delete" | "schedule-pause" | "schedule-resume" | "schedule-run" | "backfill";
export interface ActAccess { allowed: boolean; reason: string }
export type Access = Partial<Record<string, ActAccess>>;

export const RUN_COLUMNS = [
  "key", "namespace", "name", "uid", "source", "state", "reason", "message", "created", "started", "completed", "duration",
  "progress", "template", "schedule", "running", "waiting", "failed", "tone",
] as const;
export type RunColumn = (typeof RUN_COLUMNS)[number];
export type RunRow = (string | number | null)[];
export interface RunList { columns: string[]; rows: RunRow[]; next: string | null; notes: string[] }
export interface RunRows { columns?: string[]; rows: RunRow[]; gone?: string[]; notes?: string[] }

export interface Cause { subject: string; sentence: string; since: Time; remedy: string; command: string; details: string[]; kind?: string; urgency?: string; next?: Time; deadline?: Time }
export interface Condition { type: string; status: string; reason: string; message: string; since?: Time }
export interface RunEvent { at: Time; type: string; by?: string; state?: string; message?: string; count?: number }

export interface RunHead {
  key: string; namespace: string; name: string; uid: string; state: string; tone?: Tone; reason: string; message: string;
  created: Time; started: Time; completed: Time; suspended: boolean; progress: string; counts: Record<string, number>;
  pods: number; waits: number; params: Record<string, unknown>; template?: string; schedule?: string;
  labels: Record<string, string>; why: Cause[]; conditions: Condition[]; history: RunEvent[]; previous: string | null;
  source?: string;
  ui?: { color?: string };
}

export interface Task {
  name: string; kind: string; state: string; tone: Tone; details: string[]; groups: string[]; hook: string; mapped: boolean;
  progress: string; counts: Record<string, number>; total: number; displayName: string; reason?: string; message?: string;
}
export interface Group { name: string; chain?: string[]; displayName?: string; parent?: string | null; mapped?: boolean; state?: string; tone?: Tone; counts?: Record<string, number> }
export type Edge = [from: string, to: string, kind: string];

/** phase, start, end (null: goes on), detail (pod, trigger class, number of folded entries), attempt, segment, launch, reason */
export type Interval = [phase: Phase, start: number, end: Time, detail: string, attempt: number, segment: number, launch: number, reason: string];

/** Arrays of equal length, one entry an instance. `key`: "task" or "task/0/2". */
export interface InstanceColumns {
  key: string[]; task: string[]; label: string[]; state: string[]; tone: Tone[]; reason: string[]; message: string[];
  attempt: number[]; segment: number[]; launch: number[]; started: Time[]; ended: Time[]; duration: Time[];
  node: string[]; pod: string[]; waitClass: string[]; waitUntil: Time[]; intervals: Interval[][];
}
export interface Occupancy { t: number[]; pods: number[]; waits: number[] }

export interface RunSnapshot {
  run: RunHead; tasks: Task[]; groups: Group[]; edges: Edge[]; instances: InstanceColumns; occupancy: Occupancy;
  critical: string[]; acts: Access;
}
export interface RunDelta {
  run?: RunHead; tasks?: Task[]; instances?: Partial<InstanceColumns>; gone?: string[]; occupancy?: Occupancy; critical?: string[];
  edges?: Edge[]; groups?: Group[];
}

export interface TimelineRowData { key: string; label: string; task: string; intervals: Interval[] }
/** `start` is null for a run that has not started. */
export interface TimelineData { start: Time; end: number; rows: TimelineRowData[] }

export interface SegmentDetail { segment: number; launch: number; pod: string; node: string; phase: string; start: Time; end: Time; reason: string; message: string; intervals?: { phase: Phase; start: number; end: Time; detail: string }[] }
export interface AttemptDetail { attempt: number; segments: SegmentDetail[] }
export interface HistoryEvent { at: Time; state: string; attempt: number; segment: number; launch?: number; reason: string; message?: string; pod?: string; trigger?: string; count?: number; by?: string }
export interface ResultDetail { present: boolean; size: number; type: string; where: "inline" | "archive"; inline?: unknown; name?: string; length?: number }
export interface TriggerDetail { class: string; kwargs: unknown; deadline: Time; shard: number; pool: string; waitsFor?: string; form?: AnswerForm | null }
/** What an approval asks for besides the two answers. */
export interface AnswerForm { fields: FormField[]; options: string[]; multiple: boolean }
export interface FormField { name: string; type: "string" | "integer" | "number" | "boolean"; description: string; required: boolean; default?: unknown; enum: unknown[]; pattern: string | null; min?: number; max?: number }
/** The run that the task has started. `key` is null if the page does not know where the run is: it is found by its name. */
export interface ChildRun { name: string; key: string | null }
export interface PodEvent { time: Time; type: string; reason: string; message: string; pod: string; count: number }
export interface Link { title?: string; text?: string; url: string }
export interface InstanceRow {
  key: string; task: string; label: string; state: string; tone: Tone; reason: string; message: string; attempt: number;
  segment: number; launch: number; started: Time; ended: Time; duration: Time; node: string; pod: string; waitClass: string;
  waitUntil: Time; intervals?: Interval[];
}
export interface TaskDetail extends InstanceRow {
  attempts: AttemptDetail[]; containers?: string[]; history: HistoryEvent[]; args: unknown; result: ResultDetail; why: Cause[]; trigger: TriggerDetail | null;
  childRun?: ChildRun | null; event: unknown; podEvents: PodEvent[]; links: Link[]; image?: string; retries?: number; yaml: { taskrun: string; pod?: string };
}
export interface LogLine { t: Time; source: string; stream: string; severity: string; text: string; attempt: number; segment: number }

export interface Preview { effects: string[]; command: string; allowed: boolean; reason: string; warnings: string[] }
export interface Acted { done: string[]; failed: { key: string; message: string }[]; created?: string }
export interface TemplateParam { name: string; type: string; enum?: unknown[]; pattern?: string; default?: unknown; required: boolean; description: string }
export interface Template { namespace: string; name: string; description: string; params: TemplateParam[] }
