"""Many questions of many documents: questions in, results out, and a run that may be stopped and goes on."""
