// The page begins here.

import { render } from 'preact';
import './style.css';
import { Shell } from './shell/shell';

const place = document.getElementById('page');
if (place) render(<Shell />, place);
