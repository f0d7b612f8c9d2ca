/** What this browser keeps for the viewer: choices, and nothing of the cluster. Without storage, choices last until a reload. */

export function stored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Keeps a choice; null removes it. */
export function store(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // A browser may forbid storage, or have no room.
  }
}
