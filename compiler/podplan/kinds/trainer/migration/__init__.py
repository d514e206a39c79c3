"""What becomes a TrainJob: jobs of the training operator, and TrainJobs of earlier versions of Trainer."""
