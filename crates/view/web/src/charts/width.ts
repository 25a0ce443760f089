// How wide a place on the page is, as it changes.

import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** A place, and its present width in pixels: 0 until it is known. */
export function useWidth<Place extends HTMLElement>(): [RefObject<Place | null>, number] {
    const place = useRef<Place>(null);
    const [width, setWidth] = useState(0);
    useLayoutEffect(() => {
        const element = place.current;
        if (!element) return undefined;
        const measure = () => setWidth(Math.floor(element.clientWidth));
        measure();
        const observer = new ResizeObserver(measure);
        observer.observe(element);
        return () => observer.disconnect();
    }, []);
    return [place, width];
}
