/** What the server sends for Schedules, approvals, triggerers and the cluster. See contract.ts. */
import type { Access, AnswerForm, RunList, Time, Tone } from "./contract.ts";

export interface ScheduleSource { name: string; kind?: string; text?: string; timeZone?: string }
export interface QueuedTick { at: Time; source?: string; text?: string }
export interface ScheduleRow {
  namespace: string; name: string; template?: string; suspended: boolean; ready: boolean; tone?: Tone; message: string;
  sources: ScheduleSource[]; next: number[]; last: Time; lastRun?: string | null; lastState?: string; lastTone?: Tone;
  active: string[]; concurrency?: string; missed: number; skipped: number; queue: QueuedTick[]; acts?: Access;
}
export interface CalendarDay { day: string; ok: number; failed: number; missed: number; skipped: number }
export interface ScheduleDetail extends ScheduleRow { calendar: CalendarDay[]; runs: Pick<RunList, "columns" | "rows"> }

export interface Approval {
  key: string; run: string; runName?: string; namespace: string; task: string; subject?: string; question: string; since: Time; deadline: Time;
  approvers: string[]; mayAnswer: boolean; reason: string; form?: AnswerForm | null; lastAnswer?: string;
}

export type Tally = [label: string, count: number];
export interface Replica { pool: string; name: string; ready: boolean; shards: number; waits: number; loopLag: number | null; renewed: Time }
export interface Pool { name: string; replicas: number; ready: number; shards: number; waits: number }
export interface SharedTrigger { class: string; subject: string; waits: number }
export interface Blame { class: string; namespace: string; subject?: string; seconds: number; reason: string; since: Time }
export interface DueWait { key: string; run: string; runName?: string; namespace: string; task: string; class: string; at: number }
export interface Triggerers {
  replicas: Replica[]; pools: Pool[]; waits: { byClass: Tally[]; byHost: Tally[]; byAge: Tally[] };
  shared: SharedTrigger[]; blamed: Blame[]; due: DueWait[]; notes: string[];
}

export interface Slots { namespace: string; name: string; size: number; used: number; queued: number }
export interface Quota { namespace: string; resource: string; hard: number; used: number }
export interface Cluster {
  pods: number; waits: number; saved: { podHours: number; now: number }; slots: Slots[]; quotas: Quota[]; runs: Record<string, number>;
  history: { t: number[]; pods: number[]; waits: number[] }; pools?: Pool[]; notes: string[];
}
