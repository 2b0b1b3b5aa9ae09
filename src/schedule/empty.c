typedef int gpuc_schedule_empty;
