"""Growing trees whose leaves say a median or another quantile."""
