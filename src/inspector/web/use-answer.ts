/** The server's answer to what is shown now; an answer that comes too late is dropped. */
import { useEffect, useState } from 'preact/hooks';

/**
 * Asks anew whenever `key` changes; what was there stays until the next answer, so nothing jumps.
 *
 * @param question undefined: nothing is asked, and there is no answer.
 */
export function useAnswer<T>(
  key: string,
  question: (() => Promise<T | undefined>) | undefined,
): T | undefined {
  const [answer, setAnswer] = useState<T | undefined>(undefined);
  useEffect(() => {
    let isWanted = true;
    if (question === undefined) {
      setAnswer(undefined);
      return undefined;
    }
    void (async () => {
      try {
        const value = await question();
        if (isWanted) setAnswer(value);
      } catch {
        // The page says on its own when the server has gone.
      }
    })();
    return () => {
      isWanted = false;
    };
  }, [key]);
  return answer;
}
