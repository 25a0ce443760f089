// Observes the width of an element.

import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** A ref, and the width of its element in pixels; 0 until measured. */
export function useWidth<Place extends HTMLElement>(): [RefObject<Place | null>, number] {
    const container = useRef<Place>(null);
    const [width, setWidth] = useState(0);
    useLayoutEffect(() => {
        const element = container.current;
        if (!element) return undefined;
        const measure = () => setWidth(Math.floor(element.clientWidth));
        measure();
        const observer = new ResizeObserver(measure);
        observer.observe(element);
        return () => observer.disconnect();
    }, []);
    return [container, width];
}
