/* SPDX-License-Identifier: Apache-2.0 */
/* What programs tell the sanitizers about drivers. Tests have it too. */
#ifndef CLI_SANITIZE_H
#define CLI_SANITIZE_H

/* In builds with AddressSanitizer the drivers that are loaded now stay so, so that a leak report names the one
 * that leaks. */
void cli_keep_drivers_loaded(void);

#endif
