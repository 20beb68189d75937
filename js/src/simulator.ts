// The simulator's module. It is a file of its own, which `simulate` loads when it is called first.

import bytes from 'inline:sim';

export { bytes };
