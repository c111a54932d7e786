"""What a batch would come to, before it is submitted: pure questions to what earlier batches showed."""
