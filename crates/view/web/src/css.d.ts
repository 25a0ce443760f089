// CSS files are imported for their side effect; the build inlines them into the page.
declare module '*.css';
