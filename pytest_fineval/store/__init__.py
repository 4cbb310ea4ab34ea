"""What a run leaves behind: records, manifest, verdict, in one folder."""
