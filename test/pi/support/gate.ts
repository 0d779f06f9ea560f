/** A promise that the test opens by hand: holds a tool or a model's answer. */
export interface Gate {
  readonly passed: Promise<void>;
  readonly open: () => void;
}

export function createGate(): Gate {
  let open!: () => void;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}
