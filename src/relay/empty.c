typedef int gpuc_relay_empty;
