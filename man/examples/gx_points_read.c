unsigned char first[48];
gx_points_read(points, 0, 1, GX_POINT_COMPRESSED, first);
