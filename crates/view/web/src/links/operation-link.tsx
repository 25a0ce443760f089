// An MPI function, as a link to its call sites.

import { ViewLink } from './view-link';

export function OperationLink({ name }: { name: string }) {
    return (
        <ViewLink view="sites" change={{ operation: name, site: undefined }} title="Show its call sites">
            {name}
        </ViewLink>
    );
}
