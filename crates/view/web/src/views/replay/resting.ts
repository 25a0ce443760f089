// A value that changes while somebody drags, taken over once it rests; and the last answer that there was.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { Asked } from '../../state/asked';

/** The value as it was when it last rested for so long. */
export function useResting<Value>(value: Value, forMs: number): Value {
    const [rested, setRested] = useState(value);
    useEffect(() => {
        const timer = setTimeout(() => setRested(value), forMs);
        return () => clearTimeout(timer);
    }, [value]);
    return rested;
}

/** The answer, or the last one while another is worked on; nothing before the first, and after a refusal. */
export function useLast<Answer>(asked: Asked<Answer>): Answer | undefined {
    const last = useRef<Answer | undefined>(undefined);
    if (asked.state === 'answered') last.current = asked.answer;
    if (asked.state === 'refused') last.current = undefined;
    return last.current;
}
