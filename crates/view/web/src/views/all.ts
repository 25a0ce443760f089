// All views, in the order of the navigation.

import { overview } from './overview';
import type { View } from './view';

export const views: View[] = [overview];
