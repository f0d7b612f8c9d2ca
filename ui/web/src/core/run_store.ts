/** What the page knows of one run: the last snapshot with all changes since. All views of a run read it. */
import { batch, signal } from "@preact/signals";
import type { Access, Edge, Group, Occupancy, RunDelta, RunHead, RunSnapshot, Task } from "../contract.ts";
import { Instances } from "./instances.ts";
import { openStream, type Stream } from "./stream.ts";

const NO_OCCUPANCY: Occupancy = { t: [], pods: [], waits: [] };

/** The path of a run at the server: "api/run/live/NS/NAME". */
export function runApi(key: string): string {
  return `api/run/${key.split("/").map(encodeURIComponent).join("/")}`;
}

/** The path of an instance at the server; the slashes of its key stay. */
export function taskApi(run: string, instance: string): string {
  return `${runApi(run)}/task/${instance.split("/").map(encodeURIComponent).join("/")}`;
}

export class RunStore {
  readonly key: string;
  readonly head = signal<RunHead | null>(null);
  readonly tasks = signal<Task[]>([]);
  readonly groups = signal<Group[]>([]);
  readonly edges = signal<Edge[]>([]);
  readonly occupancy = signal<Occupancy>(NO_OCCUPANCY);
  readonly critical = signal<string[]>([]);
  readonly acts = signal<Access>({});
  /** Grows with each change of `instances`; a view that reads `instances` reads this signal, too. */
  readonly version = signal(0);
  readonly gone = signal(false);
  instances = new Instances();
  readonly stream: Stream;

  constructor(key: string) {
    this.key = key;
    this.stream = openStream({
      path: () => `${runApi(key)}/stream`,
      handlers: { snapshot: this.take, delta: this.change, gone: () => (this.gone.value = true) },
      last: ["gone"],
    });
  }

  close(): void {
    this.stream.close();
  }

  take = (snapshot: RunSnapshot): void => {
    batch(() => {
      this.head.value = snapshot.run;
      this.tasks.value = snapshot.tasks;
      this.groups.value = snapshot.groups ?? [];
      this.edges.value = snapshot.edges ?? [];
      this.occupancy.value = snapshot.occupancy ?? NO_OCCUPANCY;
      this.critical.value = snapshot.critical ?? [];
      this.acts.value = snapshot.acts ?? {};
      this.instances = new Instances(snapshot.instances);
      this.gone.value = false;
      this.version.value += 1;
    });
  };

  change = (delta: RunDelta): void => {
    batch(() => {
      if (delta.run) this.head.value = delta.run;
      if (delta.tasks) this.tasks.value = merged(this.tasks.value, delta.tasks);
      if (delta.groups) this.groups.value = delta.groups;
      if (delta.edges) this.edges.value = delta.edges;
      if (delta.occupancy) this.occupancy.value = delta.occupancy;
      if (delta.critical) this.critical.value = delta.critical;
      if (delta.instances) this.instances.merge(delta.instances);
      if (delta.gone) this.instances.remove(delta.gone);
      if (delta.instances || delta.gone) this.version.value += 1;
    });
  };
}

function merged(tasks: Task[], changed: Task[]): Task[] {
  const byName = new Map(changed.map((task) => [task.name, task]));
  const known = tasks.map((task) => byName.get(task.name) ?? task);
  const names = new Set(tasks.map((task) => task.name));
  return [...known, ...changed.filter((task) => !names.has(task.name))];
}
