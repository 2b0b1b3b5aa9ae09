typedef int gpuc_relay_pass_empty;
