// A value that changes while somebody drags, taken over once it rests.

import { useEffect, useState } from 'preact/hooks';

/** The value as it was when it last rested for so long. */
export function useResting<Value>(value: Value, forMs: number): Value {
    const [rested, setRested] = useState(value);
    useEffect(() => {
        const timer = setTimeout(() => setRested(value), forMs);
        return () => clearTimeout(timer);
    }, [value]);
    return rested;
}
