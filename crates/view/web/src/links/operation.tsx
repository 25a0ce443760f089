// An operation, as a link to the call sites that call it.

import { Go } from './go';

export function Operation({ name }: { name: string }) {
    return (
        <Go view="sites" change={{ operation: name, site: undefined }} title="Show its call sites">
            {name}
        </Go>
    );
}
