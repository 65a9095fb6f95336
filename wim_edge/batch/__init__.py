"""Many questions of many documents: questions in, results out, in a run that can stop and continue."""
