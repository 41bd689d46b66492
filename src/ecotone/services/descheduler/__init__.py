"""The live descheduler: moves running pods that would be better off elsewhere, and watches what became of it."""
