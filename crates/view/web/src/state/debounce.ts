// Debounces a value that changes while the user drags.

import { useEffect, useState } from 'preact/hooks';

/** The last value that stayed unchanged for `forMs`. */
export function useDebounced<Value>(value: Value, forMs: number): Value {
    const [debounced, setRested] = useState(value);
    useEffect(() => {
        const timer = setTimeout(() => setRested(value), forMs);
        return () => clearTimeout(timer);
    }, [value]);
    return debounced;
}
